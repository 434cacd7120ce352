import { inspectHost } from '@berth/sandboxes/bubblewrap/host.ts'
import { findProgram, MissingProgramError } from '@berth/sandboxes/linux/find-program.ts'
import { runProgram } from '@berth/sandboxes/linux/run-program.ts'
import { type Finding, failure, ok, reasonOf } from './finding.ts'

const leastNode = 24

/** Programs of this host that a service calls, each with the package that has it. */
const needed = [
  { program: 'git', packaged: 'git' },
  { program: 'setpriv', packaged: 'util-linux' },
  { program: 'unshare', packaged: 'util-linux' },
  { program: 'prlimit', packaged: 'util-linux' },
  { program: 'mount', packaged: 'mount' },
] as const

/** Checks the Node that runs this process. */
export function examineNode(version = process.versions.node): Finding {
  if (Number.parseInt(version, 10) >= leastNode) return ok('node', `Node ${version} at ${process.execPath}`)
  return failure('node', `Node ${version} is too old: Berth needs ${leastNode}`, 'npm ci')
}

/**
 * Checks the programs that every start needs.
 * @param bubblewrap whether this host makes sandboxes with it
 */
export async function examinePrograms(bubblewrap: boolean): Promise<readonly Finding[]> {
  const missing = new Map<string, string[]>()
  for (const { program, packaged } of needed) {
    if ((await findProgram(program)) === undefined) missing.set(packaged, [...(missing.get(packaged) ?? []), program])
  }
  const findings = [...missing].map(([packaged, programs]) =>
    failure(packaged, `${programs.join(', ')} not installed`, `apt-get install ${packaged}`),
  )
  if (!missing.has('git')) findings.unshift(ok('git', (await runProgram('git', ['--version'])).trim()))
  return bubblewrap ? [...findings, await examineBubblewrap()] : findings
}

async function examineBubblewrap(): Promise<Finding> {
  try {
    const { bwrapPath } = await inspectHost('bwrap')
    return ok('bubblewrap', `${(await runProgram(bwrapPath, ['--version'])).trim()} at ${bwrapPath}`)
  } catch (error) {
    const packaged = reasonOf(error).includes('util-linux') ? 'util-linux' : 'bubblewrap'
    const next = error instanceof MissingProgramError ? `apt-get install ${packaged}` : 'bwrap --version'
    return failure('bubblewrap', reasonOf(error), next)
  }
}
