import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ProgramError, runProgram } from '@berth/sandboxes/linux/run-program.ts'
import { KeyProblem } from './key-problem.ts'

/** Seconds after which a program that signs is ended. */
const SECONDS = 30
const MEMORY = '/dev/shm'
const PREFIX = 'berth-key.'
/** Older than any directory whose script may still run. */
const LEFT_MS = 2 * SECONDS * 1000
/** The packages of Debian that have the programs. */
const packages: Readonly<Record<string, string>> = {
  'ssh-keygen': 'openssh-client',
  gpg: 'gpg and gpg-agent',
  gpgconf: 'gpg and gpg-agent',
}

/**
 * Runs a script of sh beside the file `key`, in a directory of its own in memory that `$dir` names. The script removes the
 * directory itself, so the key is gone even if this process is killed meanwhile. If the script is killed as well,
 * `removeLeftKeys` of a later start removes it.
 * @param end further commands at its end
 * @param text its standard input
 * @returns its standard output
 * @throws KeyProblem if a program is missing, or ProgramError
 */
export async function runWithKey(
  key: string,
  script: readonly string[],
  text: string,
  end: readonly string[] = [],
): Promise<string> {
  const lines = [
    'set -eu',
    'umask 077',
    `dir=$(mktemp -d ${MEMORY}/${PREFIX}XXXXXX)`,
    // `set -e` would end the trap at its first command that fails, ahead of the removal.
    `trap 'set +e; ${[...end, 'rm -rf "$dir"'].join('; ')}' EXIT`,
    "trap 'exit 1' HUP INT TERM",
    'head -c "$1" >"$dir/key"',
    ...script,
  ]
  const file = `${key.trim()}\n`
  const args = ['-k', '5', String(SECONDS), 'sh', '-c', lines.join('\n'), 'sh', String(Buffer.byteLength(file))]
  try {
    return await runProgram('timeout', args, undefined, '/', file + text)
  } catch (error) {
    const missing = error instanceof ProgramError ? /([\w-]+): not found/.exec(error.stderr)?.[1] : undefined
    if (missing === undefined) throw error
    throw new KeyProblem(`needs ${missing}: install ${packages[missing] ?? missing}`, { cause: error })
  }
}

/** Removes the directories of scripts of this user that were killed, by the time of their last change. */
export async function removeLeftKeys(): Promise<void> {
  const names = await readdir(MEMORY).catch(() => [])
  for (const name of names.filter(each => each.startsWith(PREFIX))) {
    const path = join(MEMORY, name)
    const found = await stat(path).catch(() => null)
    const isLeft = found !== null && found.uid === process.getuid?.() && Date.now() - found.mtimeMs > LEFT_MS
    if (isLeft) await rm(path, { recursive: true, force: true })
  }
}
