/** Freezes a run right before any of its effects: file operations, calls to S3, transactions. */
import type { S3Client } from '@aws-sdk/client-s3';
import type { Kysely } from 'kysely';
import type { Files } from '../../src/objects/directory-files.ts';
import type { DB } from '../../src/store/engine/schema.ts';

export interface Freezer {
  /** All effects so far, in order. */
  readonly effects: string[];
  /** Resolves once the run is frozen. */
  readonly frozen: Promise<string>;
  /** Lets the effect happen, and the run continue. */
  readonly thaw: () => void;
  /** Waits if this is the effect to freeze at. */
  readonly before: (effect: string) => Promise<void>;
}

/** Freezes right before the effect with this number, from 0. Never freezes if it is null. */
export function createFreezer(freezeAt: number | null): Freezer {
  const effects: string[] = [];
  let thaw = (): void => undefined;
  let reportFrozen: (effect: string) => void = () => undefined;
  const thawed = new Promise<void>((resolve) => (thaw = resolve));
  const frozen = new Promise<string>((resolve) => (reportFrozen = resolve));
  return {
    effects,
    frozen,
    thaw: () => thaw(),
    before: async (effect) => {
      effects.push(effect);
      if (effects.length - 1 !== freezeAt) return;
      reportFrozen(effect);
      await thawed;
    },
  };
}

/** Files of which each operation is an effect. */
export function freezableFiles({ before }: Freezer, files: Files): Files {
  const named =
    <Args extends unknown[], Result>(name: string, work: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      await before(
        `${name} ${String(args.at(name === 'link' || name === 'rename' ? 1 : 0))
          .split('/')
          .at(-1)}`,
      );
      return work(...args);
    };
  return {
    link: named('link', files.link),
    mkdir: named('mkdir', files.mkdir),
    open: named('open', files.open),
    readdir: named('readdir', files.readdir),
    // It changes nothing.
    realpath: files.realpath,
    rename: named('rename', files.rename),
    rm: named('rm', files.rm),
    stat: named('stat', files.stat),
    unlink: named('unlink', files.unlink),
  };
}

/** Makes each request of a client an effect: it is signed, and then held before it is sent. */
export function freezeRequests(client: S3Client, { before }: Freezer): void {
  client.middlewareStack.add(
    (next, context) => async (args) => {
      const { Key } = args.input as { Key?: string };
      await before(`${String(context.commandName)} ${Key?.split('/').at(-1) ?? ''}`);
      return next(args);
    },
    { step: 'finalizeRequest', priority: 'low', name: 'freezer' },
  );
}

/** A database in which every transaction is an effect, and every statement outside of one that writes. */
export const freezableDatabase = (db: Kysely<DB>, { before }: Freezer): Kysely<DB> =>
  new Proxy(db, {
    get: (target, property) => {
      if (property === 'transaction')
        return () => ({
          execute: async (work: Parameters<ReturnType<Kysely<DB>['transaction']>['execute']>[0]) => {
            await before('transaction');
            return target.transaction().execute(work);
          },
        });
      if (property === 'getExecutor') return () => freezableExecutor(target, before);
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === 'function' ? (value as (...args: unknown[]) => unknown).bind(target) : value;
    },
  });

const freezableExecutor = (db: Kysely<DB>, before: Freezer['before']) =>
  new Proxy(db.getExecutor(), {
    get: (target, property) => {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== 'function') return value;
      const call = (value as (...args: unknown[]) => unknown).bind(target);
      if (property !== 'executeQuery') return call;
      return async (...args: unknown[]) => {
        if (/insert into/i.test((args[0] as { readonly sql: string }).sql)) await before('writing statement');
        return call(...args);
      };
    },
  });
