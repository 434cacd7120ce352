import { ProgramError, runProgram } from '../../sandboxes/linux/run-program.ts'
import { KeyProblem } from './key-problem.ts'

/** Seconds after which a program that signs is ended. */
const SECONDS = 30
/** The packages of Debian that have the programs. */
const packages: Readonly<Record<string, string>> = {
  'ssh-keygen': 'openssh-client',
  gpg: 'gpg and gpg-agent',
  gpgconf: 'gpg and gpg-agent',
}

/**
 * Runs a script of sh beside the file `key`, in a directory of its own in memory that `$dir` names. The script removes the
 * directory itself, so the key is gone even if this process is killed meanwhile.
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
    'dir=$(mktemp -d /dev/shm/berth-key.XXXXXX)',
    `trap '${[...end, 'rm -rf "$dir"'].join('; ')}' EXIT`,
    "trap 'exit 1' HUP INT TERM",
    'head -c "$1" >"$dir/key"',
    ...script,
  ]
  const file = `${key.trim()}\n`
  const args = [String(SECONDS), 'sh', '-c', lines.join('\n'), 'sh', String(Buffer.byteLength(file))]
  try {
    return await runProgram('timeout', args, undefined, '/', file + text)
  } catch (error) {
    const missing = error instanceof ProgramError ? /([\w-]+): not found/.exec(error.stderr)?.[1] : undefined
    if (missing === undefined) throw error
    throw new KeyProblem(`needs ${missing}: install ${packages[missing] ?? missing}`, { cause: error })
  }
}
