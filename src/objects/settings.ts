/** Settings of the store of statements. */
import { setting } from '../settings/setting.ts';
import { parseUrl } from '../settings/values/addresses.ts';
import { reading, Wrong, yesOrNo } from '../settings/values/scalars.ts';

/** Where statements go: a folder of this machine, or a bucket. */
const statementsUrl = () =>
  reading((value) => {
    const url = parseUrl(value);
    if (url.username !== '' || url.password !== '' || url.search !== '') {
      throw new Wrong(
        'must not carry credentials or options; the AWS SDK reads them from its own environment',
      );
    }
    if (url.protocol === 's3:') {
      if (url.hostname === '') throw new Wrong('names no bucket');
    } else if (url.protocol !== 'file:') {
      throw new Wrong('must begin with file:// or s3://');
    } else if (url.hostname !== '') {
      throw new Wrong('must be absolute: three slashes after file:');
    }
    return value;
  });

export const OBJECTS = {
  STATEMENTS_URL: setting(
    statementsUrl().optional(),
    "file:// or s3://bucket/prefix. Endpoint, region and credentials are read as the AWS SDK does. Without it: a folder 'statements' in dataDir.",
    { example: 's3://bucket/statements' },
  ),
  S3_FORCE_PATH_STYLE: setting(
    yesOrNo().optional(),
    'Without it: true if an endpoint is set (AWS_ENDPOINT_URL_S3).',
    { example: 'true' },
  ),
};
