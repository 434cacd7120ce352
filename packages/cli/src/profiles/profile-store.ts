import {
  chmodSync,
  closeSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, join } from 'node:path'
import type { Platform } from '@berth/client'
import { UsageError } from '../failure.ts'
import { isSameDeployment } from '../http-url.ts'
import { lockFile } from './file-lock.ts'
import { type Profile, parseProfile, requireProfileName } from './profile.ts'

/** A profile by its name, or why its file cannot be used. */
export type ListedProfile =
  | { readonly name: string; readonly profile: Profile }
  | { readonly name: string; readonly profile: null; readonly problem: string }

const suffix = '.json'

/**
 * The sign-ins of this user on this machine: `profiles/<name>.json` each, and the name of the current one in `current`.
 * Files are replaced by a rename, so a reader sees a whole one. Only the holder of `lock` may replace a profile.
 */
export class ProfileStore {
  readonly #directory: string

  constructor(directory: string) {
    this.#directory = directory
  }

  /** Opens the store of this environment's user: `$XDG_CONFIG_HOME/berth`, by default `~/.config/berth`. */
  static of(env: NodeJS.ProcessEnv): ProfileStore {
    const named = env.XDG_CONFIG_HOME ?? ''
    // The XDG specification has programs ignore a relative path.
    return new ProfileStore(join(isAbsolute(named) ? named : join(homedir(), '.config'), 'berth'))
  }

  /** Excludes other processes from changing one profile until the lock is disposed of. */
  lock(name: string, platform: Platform): Promise<Disposable> {
    this.#make()
    return lockFile(join(this.#directory, 'profiles', `${requireProfileName(name)}.lock`), platform)
  }

  /**
   * Reads a profile; returns null if there is none of this name.
   * @throws UsageError if the file is broken, or others may read it
   */
  read(name: string): Profile | null {
    const path = this.#pathOf(name)
    const text = readPrivate(path)
    if (text === null) return null
    const profile = parseProfile(text)
    if (profile !== null) return profile
    throw new UsageError(
      `${path} is not a profile; delete it, and sign in again with \`berth login --profile ${name}\``,
    )
  }

  /** Reads a profile; returns null also if its file is broken, which must keep nobody from replacing it. */
  readWhole(name: string): Profile | null {
    try {
      return this.read(name)
    } catch (failure) {
      if (failure instanceof UsageError) return null
      throw failure
    }
  }

  /** Writes a profile, and replaces an earlier one. The caller holds its lock. */
  write(name: string, profile: Profile): void {
    this.#make()
    replaceFile(this.#pathOf(name), `${JSON.stringify(profile, null, 2)}\n`)
  }

  /** Removes a profile, even a broken one. The caller holds its lock. */
  remove(name: string): void {
    rmSync(this.#pathOf(name), { force: true })
    if (this.current() === name) rmSync(this.#currentPath, { force: true })
  }

  /** Lists the profiles by name. */
  list(): ListedProfile[] {
    return this.names().flatMap<ListedProfile>(name => {
      try {
        const profile = this.read(name)
        return profile === null ? [] : [{ name, profile }]
      } catch (failure) {
        if (!(failure instanceof UsageError)) throw failure
        return [{ name, profile: null, problem: failure.message }]
      }
    })
  }

  /** Returns the names of the profiles, broken ones included. */
  names(): string[] {
    const files = orAbsent(() => readdirSync(join(this.#directory, 'profiles'))) ?? []
    return files
      .filter(file => file.endsWith(suffix))
      .map(file => file.slice(0, -suffix.length))
      .sort()
  }

  /** Returns the profiles of a deployment that can be read. */
  ofDeployment(url: string): { readonly name: string; readonly profile: Profile }[] {
    return this.names().flatMap(name => {
      const profile = this.readWhole(name)
      return profile !== null && isSameDeployment(profile.url, url) ? [{ name, profile }] : []
    })
  }

  /** Returns the name of the current profile; null if none was chosen. */
  current(): string | null {
    const name = orAbsent(() => readFileSync(this.#currentPath, 'utf8'))?.trim()
    return name === undefined || name === '' ? null : name
  }

  /** Makes a profile the current one. */
  choose(name: string): void {
    this.#make()
    replaceFile(this.#currentPath, `${requireProfileName(name)}\n`)
  }

  get #currentPath(): string {
    return join(this.#directory, 'current')
  }

  #pathOf(name: string): string {
    return join(this.#directory, 'profiles', `${requireProfileName(name)}${suffix}`)
  }

  #make(): void {
    for (const path of [this.#directory, join(this.#directory, 'profiles')]) {
      mkdirSync(path, { recursive: true, mode: 0o700 })
      chmodSync(path, 0o700)
    }
  }
}

/** Reads a file that only its owner may read; null if it is absent. */
function readPrivate(path: string): string | null {
  const file = orAbsent(() => openSync(path, 'r'))
  if (file === null) return null
  try {
    if ((fstatSync(file).mode & 0o077) !== 0) {
      throw new UsageError(`other users can read ${path}, which holds a sign-in; run \`chmod 600 ${path}\``)
    }
    return readFileSync(file, 'utf8')
  } finally {
    closeSync(file)
  }
}

/** Replaces a file by a rename, so that a crash leaves the old content or the new. */
function replaceFile(path: string, content: string): void {
  const temporary = `${path}.${process.pid}.tmp`
  rmSync(temporary, { force: true })
  try {
    const file = openSync(temporary, 'wx', 0o600)
    try {
      writeFileSync(file, content)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    renameSync(temporary, path)
  } catch (cause) {
    rmSync(temporary, { force: true })
    throw cause
  }
}

function orAbsent<T>(work: () => T): T | null {
  try {
    return work()
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return null
    throw cause
  }
}
