import { join } from 'node:path'
import type { Log } from '../../kit/log.ts'
import { StartError, toStartError } from '../../kit/start-error.ts'
import { MasterKey, sealedUnder, UnsealError } from '../master-key.ts'
import type { Database, Queryable } from '../postgres/database.ts'
import { makeKeyFile, readKeyFile } from './key-file.ts'

const context = 'deployment/master-key'
const remedy = 'give every process on this database the same key, as BERTH_MASTER_KEY or a copy of master.key'

/** Where a process looks for the master key. */
export interface KeySource {
  /** Key from the settings; it takes precedence over the file. */
  readonly key: Uint8Array | undefined
  /** Directory of the file `master.key`. */
  readonly dataDir: string
  readonly log: Log
}

type Place = Omit<KeySource, 'log'>

/**
 * Returns the key that every process on this database must hold: from the settings or from the file. The first process
 * makes the file and stores a sealed constant in the database; every later process checks its key against that.
 * @throws StartError if the key differs, or is missing although the database has a sealed constant
 */
export async function requireDeploymentKey(db: Database, source: KeySource): Promise<MasterKey> {
  const made: string[] = []
  // One start at a time: of two first starts, the second finds the constant of the first and makes no key of its own.
  const key = await db.transaction(async tx => {
    const check = await readCheck(tx, 'for update')
    const own = await ownKey(source)
    if (own !== undefined) {
      if (check !== null) requireSame(own, check, source)
      else await leaveCheck(tx, own)
      return own
    }
    if (check !== null) throw missingKey(source, check)
    const path = keyPath(source)
    const fresh = new MasterKey(await keeping(path, () => makeKeyFile(path)))
    made.push(path)
    await leaveCheck(tx, fresh)
    return fresh
  })
  for (const path of made) source.log.info({ path, keyId: key.id }, 'made a master key: keep a copy of it')
  return key
}

/**
 * Checks this process's key against the database, and makes none.
 * @returns the id of the key; null if neither this process nor the database has one yet
 * @throws StartError as `requireDeploymentKey` does
 */
export async function requireSameKey(db: Queryable, source: Place): Promise<string | null> {
  const check = await readCheck(db)
  const own = await ownKey(source)
  if (own === undefined && check !== null) throw missingKey(source, check)
  if (own !== undefined && check !== null) requireSame(own, check, source)
  return own?.id ?? null
}

function missingKey(source: Place, check: Buffer): StartError {
  return new StartError(
    `the master key ${keyPath(source)} is missing, and this database uses key ${sealedUnder(check)}: bring the file back, or ${remedy} (docs/operations.md)`,
  )
}

function keyPath({ dataDir }: Pick<KeySource, 'dataDir'>): string {
  return join(dataDir, 'master.key')
}

async function ownKey(source: Place): Promise<MasterKey | undefined> {
  const path = keyPath(source)
  const bytes = source.key ?? (await keeping(path, () => readKeyFile(path)))
  return bytes && new MasterKey(bytes)
}

async function keeping<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw toStartError(error, `the master key ${path} cannot be read or created`)
  }
}

async function readCheck(db: Queryable, lock = ''): Promise<Buffer | null> {
  const { rows } = await db.query<{ check: Buffer | null }>(`select master_key_check as check from deployment ${lock}`)
  return rows[0]?.check ?? null
}

async function leaveCheck(tx: Queryable, key: MasterKey): Promise<void> {
  await tx.query('update deployment set master_key_check = $1', [key.seal('berth', context)])
}

function requireSame(own: MasterKey, check: Buffer, source: Place): void {
  try {
    own.open(check, context)
  } catch (error) {
    if (!(error instanceof UnsealError)) throw error
    const place = source.key === undefined ? keyPath(source) : 'BERTH_MASTER_KEY'
    throw new StartError(
      `${place} holds master key ${own.id}, this database uses key ${sealedUnder(check)}: ${remedy} (docs/operations.md)`,
      { cause: error },
    )
  }
}
