import { closeSync, readdirSync, readFileSync } from 'node:fs'

const O_CLOEXEC = 0o2000000

/**
 * Closes what an agent would inherit beyond stdin, stdout and stderr. Node marks the low descriptors at its start and
 * its own always; one with a high number that someone further up left open would otherwise reach the agent.
 */
export function closeInheritedDescriptors(): void {
  let names: string[]
  try {
    names = readdirSync('/proc/self/fdinfo')
  } catch {
    return
  }
  for (const name of names) {
    const fd = Number(name)
    if (fd > 2 && isInheritable(name)) closeSync(fd)
  }
}

function isInheritable(fd: string): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)$/m.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))?.[1]
    return flags !== undefined && (Number.parseInt(flags, 8) & O_CLOEXEC) === 0
  } catch {
    return false
  }
}
