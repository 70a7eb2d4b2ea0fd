/**
 * deploy/kubernetes: the schemas of Kubernetes, and what only daybook can know.
 *
 * @module-tag long
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Deployment } from 'kubernetes-models/apps/v1/Deployment';
import { CronJob } from 'kubernetes-models/batch/v1/CronJob';
import { Job } from 'kubernetes-models/batch/v1/Job';
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1/NetworkPolicy';
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1/PodDisruptionBudget';
import { Namespace } from 'kubernetes-models/v1/Namespace';
import { Service } from 'kubernetes-models/v1/Service';
import { ServiceAccount } from 'kubernetes-models/v1/ServiceAccount';
import { expect, onTestFinished, test } from 'vitest';
import { EXIT } from '../../src/ledger/ending.ts';
import {
  deployed,
  deployedIn,
  documentsOf,
  knownBy,
  KNOWS,
  PAGES_FOR_ALL,
  peopleOfPages,
  servingOf,
  settingsFrom,
  unknownArguments,
  unknownSettings,
  valuesIn,
} from './deployed.ts';

const MODELS = {
  'apps/v1': { Deployment },
  'batch/v1': { CronJob, Job },
  'networking.k8s.io/v1': { NetworkPolicy },
  'policy/v1': { PodDisruptionBudget },
  v1: { Namespace, Service, ServiceAccount },
} as unknown as Record<string, Record<string, (new (data: object) => { validate: () => void }) | undefined>>;

interface Container {
  readonly name: string;
  readonly image: string;
  readonly args: readonly string[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
}
interface Pod {
  readonly containers: readonly Container[];
  readonly terminationGracePeriodSeconds: number;
  readonly volumes: readonly { readonly name: string; readonly secret?: { readonly secretName: string } }[];
}
interface Rule {
  readonly action: string;
  readonly onExitCodes?: { readonly containerName: string; readonly values: readonly number[] };
}
interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec?: {
    readonly template?: { readonly spec: Pod };
    readonly jobTemplate?: {
      readonly spec: {
        readonly template: { readonly spec: Pod };
        readonly podFailurePolicy: { readonly rules: readonly Rule[] };
      };
    };
  };
}

const files = deployedIn('kubernetes', '.yaml').filter((path) => !path.endsWith('kustomization.yaml'));
const manifests = files.flatMap((path) => documentsOf(path) as Manifest[]);
const nameOf = ({ kind, metadata }: Manifest): string => `${kind} ${metadata.name}`;
const podOf = ({ spec }: Manifest): Pod | undefined => (spec?.jobTemplate?.spec ?? spec)?.template?.spec;
const pods = manifests.flatMap((one) => {
  const pod = podOf(one);
  return pod === undefined ? [] : [[nameOf(one), pod] as const];
});

test.each(manifests.map((one) => [nameOf(one), one] as const))(
  '%s fits the schema of Kubernetes',
  (_, manifest) => {
    const Model = MODELS[manifest.apiVersion]?.[manifest.kind];
    expect(Model, `${manifest.apiVersion} ${manifest.kind}`).toBeDefined();
    expect(() => new Model!(manifest).validate()).not.toThrow();
  },
);

test('no manifest has a field that Kubernetes does not know', () => {
  // The schemas let unknown fields through. The compiler refuses them in a literal.
  expect(typeErrors(manifests)).toEqual([]);
  const [first] = manifests.filter(({ kind }) => kind === 'Deployment');
  expect(
    typeErrors([{ ...first!, metadata: { ...first!.metadata, nmae: 'x' } as Manifest['metadata'] }]),
  ).toEqual([expect.stringContaining('nmae')]);
});

/** What the compiler says of these documents as literals of the types of Kubernetes. */
function typeErrors(documents: readonly Manifest[]): string[] {
  const text = documents
    .map(({ apiVersion, kind }, at) => {
      const type = `import('kubernetes-models/${apiVersion}/${kind}').I${kind}`;
      return `export const m${at}: ${type} = ${JSON.stringify(documents[at])};`;
    })
    .join('\n');
  const folder = mkdtempSync(join(tmpdir(), 'daybook-kubernetes-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  symlinkSync(join(process.cwd(), 'node_modules'), join(folder, 'node_modules'));
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(join(folder, 'manifests.ts'), text);
  const options = ['--noEmit', '--strict', '--module', 'nodenext', '--skipLibCheck', '--pretty', 'false'];
  const compiler = join(process.cwd(), 'node_modules/typescript/bin/tsc');
  const { stdout } = spawnSync(process.execPath, [compiler, ...options, 'manifests.ts'], {
    cwd: folder,
    encoding: 'utf8',
  });
  return stdout.split('\n').filter((line) => line !== '');
}

test('every file is one that kustomization.yaml lists, the nightly one that stands in for the schedule, the workers, or the pages', () => {
  const [{ resources }] = documentsOf('kubernetes/kustomization.yaml') as [{ resources: string[] }];
  const there = readdirSync('deploy/kubernetes').filter((name) => name.endsWith('.yaml'));
  expect([...resources, 'kustomization.yaml', 'nightly.yaml', 'pages.yaml', 'worker.yaml'].sort()).toEqual(
    there.sort(),
  );
});

test.each(pods)(
  '%s: commands and settings exist; it can write to its own folder only, as nobody in particular',
  (_, pod) => {
    expect(pod).toMatchObject({
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
    });
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(25);
    const [container] = pod.containers;
    expect(container).toMatchObject({
      image: 'daybook',
      resources: { requests: { cpu: expect.any(String) }, limits: { memory: expect.any(String) } },
      securityContext: {
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      },
    });
    const { args, env, volumeMounts } = container!;
    expect(unknownArguments(args)).toEqual([]);
    expect(unknownSettings(env.map(({ name }) => name))).toEqual([]);
    const given = Object.fromEntries(env.map(({ name, value }) => [name, value]));
    expect(settingsFrom({ ...valuesIn(deployed('settings.example.env')), ...given })).toMatchObject({
      databaseUrl: 'postgres://daybook:made-up@database/daybook',
      dataDir: '/tmp/daybook',
    });
    const paths = env.filter(({ value }) => value.startsWith('/')).map(({ value }) => value);
    expect(paths.filter((path) => !volumeMounts.some(({ mountPath }) => path.startsWith(mountPath)))).toEqual(
      [],
    );
    expect(volumeMounts.map(({ name }) => name)).toEqual(pod.volumes.map(({ name }) => name));
  },
);

/** The login of the database in each Secret, as docs/operations.md makes them. */
const LOGIN_IN: Readonly<Record<string, string>> = {
  'daybook-migrate': 'migrate',
  'daybook-job': 'job',
  'daybook-inbox': 'serve',
  'daybook-pages': 'pages',
};

test.each(pods)(
  '%s has one Secret, with no login and no key that its work does not need',
  (name, { containers, volumes }) => {
    const secrets = volumes.flatMap(({ secret }) => (secret === undefined ? [] : [secret.secretName]));
    expect(secrets).toHaveLength(1);
    const given = Object.fromEntries(containers[0]!.env.map((one) => [one.name, one.value]));
    expect(knownBy(LOGIN_IN[secrets[0]!]!, given)).toEqual(KNOWS[name.replace(/.*daybook-/, '')]);
    // What operations.md has the reader put into the Secret is what the pod reads, and no more.
    const made = new RegExp(`create secret generic ${secrets[0]!} (.*)`).exec(
      readFileSync('docs/operations.md', 'utf8'),
    )![1]!;
    const keys = [...made.matchAll(/--from-file=(?:(\w+)=)?secrets\/(\w+)/g)].map(
      ([, key, file]) => key ?? file!,
    );
    const read = Object.values(given).flatMap(
      (value) => /^\/run\/secrets\/daybook\/(\w+)$/.exec(value)?.[1] ?? [],
    );
    expect(keys.sort()).toEqual(read.sort());
  },
);

test('the pages ask for a login, and a Service leads to their port and to nothing else', () => {
  const [container] = pods.find(([name]) => name === 'Deployment daybook-pages')![1].containers;
  const given = Object.fromEntries(container!.env.map(({ name, value }) => [name, value]));
  const settings = settingsFrom({ ...valuesIn(deployed('settings.example.env')), ...given });
  expect(peopleOfPages(settings)).toEqual({
    canLogOut: true,
    roles: {
      ada: { role: 'operator', merchants: null },
      vera: { role: 'viewer', merchants: ['10001'] },
    },
    port: 8090,
  });
  expect(container!.ports).toContainEqual({ name: 'http', containerPort: 8090 });
  const service = manifests.find((one) => nameOf(one) === 'Service daybook-pages')!;
  expect(service.spec).toMatchObject({ ports: [{ targetPort: 'http' }] });
});

test('what the platform posts to shows no pages, and the pages are nothing that it posts to', () => {
  const serving = pods.flatMap(([name, { containers }]) =>
    containers
      .filter(({ args }) => args[0] === 'serve')
      .map(({ args, env }) => {
        const given = Object.fromEntries(env.map((one) => [one.name, one.value]));
        const shared = { ...valuesIn(deployed('settings.example.env')), ...PAGES_FOR_ALL };
        return [name, servingOf(args, settingsFrom({ ...shared, ...given }))] as const;
      }),
  );
  expect(Object.fromEntries(serving)).toEqual({
    'Deployment daybook-serve': { receives: true, shows: false },
    'Deployment daybook-pages': { receives: false, shows: true },
  });
});

test.each(
  manifests.filter(({ kind }) => kind === 'Deployment').map((one) => [nameOf(one), podOf(one)!] as const),
)('%s: its probes ask the address that DAYBOOK_HEALTH_LISTEN opens', (_, pod) => {
  const { env, ports, ...probes } = pod.containers[0]!;
  const listen = env.find(({ name }) => name === 'DAYBOOK_HEALTH_LISTEN')!.value;
  expect(listen).toBe(`0.0.0.0:${ports!.find(({ name }) => name === 'health')!.containerPort}`);
  expect(probes).toMatchObject({
    livenessProbe: { httpGet: { path: '/healthz', port: 'health' } },
    readinessProbe: { httpGet: { path: '/readyz', port: 'health' } },
  });
});

test('of a night’s exit codes, 3 and 70 are not tried again, 5 is tried again however often, 2 (not migrated yet) and 4 some times', () => {
  const nightly = manifests.find(({ kind }) => kind === 'CronJob')!.spec!.jobTemplate!.spec;
  const byCode = nightly.podFailurePolicy.rules.flatMap(({ action, onExitCodes }) =>
    (onExitCodes?.values ?? []).map((code) => [code, action] as const),
  );
  expect(Object.fromEntries(byCode)).toEqual({
    2: 'Count',
    3: 'FailJob',
    70: 'FailJob',
    5: 'Ignore',
    4: 'Count',
  });
  // Every exit code but success is decided on, for the container that there is.
  expect(byCode.map(([code]) => code).sort()).toEqual(
    Object.values(EXIT)
      .filter((code) => code !== 0)
      .sort(),
  );
  const [container] = nightly.template.spec.containers;
  for (const { onExitCodes } of nightly.podFailurePolicy.rules)
    expect([undefined, container!.name]).toContain(onExitCodes?.containerName);
});

test('what a policy, a Service or a budget selects is a pod that there is', () => {
  const labels = manifests.flatMap(({ spec }) => {
    const template = (spec?.jobTemplate?.spec ?? spec)?.template as
      { metadata?: { labels?: object } } | undefined;
    return template?.metadata?.labels === undefined ? [] : [template.metadata.labels];
  });
  const selectors = manifests.flatMap(({ spec }) => {
    const { selector, podSelector } = (spec ?? {}) as { selector?: object; podSelector?: object };
    return [selector, podSelector].filter((one) => one !== undefined);
  });
  expect(selectors.length).toBeGreaterThan(5);
  for (const selector of selectors) {
    const wanted = 'matchLabels' in selector ? selector.matchLabels : selector;
    expect(labels).toContainEqual(expect.objectContaining(wanted as object));
  }
});
