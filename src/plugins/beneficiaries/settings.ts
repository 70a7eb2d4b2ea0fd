/** Settings of registrations. */
import { setting, settingsGroup } from '../../settings/setting.ts';
import { codes, someOf } from '../../settings/values/lists.ts';

/** What an image may be: the path of an uploaded one, the image itself, or where it is on the web. */
const IMAGE_KINDS = ['path', 'base64', 'dataUrl', 'url'] as const;

export const beneficiarySettings = settingsGroup(
  {
    PLATFORM_WALLET_METHODS: setting(
      codes().default([]),
      'The two wallet payout methods that need no bank code. In the environment: JSON, or words separated by commas.',
      { example: '["WALLET_A","WALLET_B"]' },
    ),
    PLATFORM_IMAGES: setting(
      someOf(IMAGE_KINDS).default(IMAGE_KINDS),
      "What an image of a beneficiary's papers may be: path (of an uploaded file), base64, dataUrl, url (https). The platform's document does not say which it takes.",
      { example: 'base64' },
    ),
  },
  { value: (own) => own },
);
