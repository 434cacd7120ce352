import { closeSync, readdirSync, readFileSync } from 'node:fs'

const O_CLOEXEC = 0o2000000

/**
 * Closes every descriptor that an agent would inherit besides stdin, stdout and stderr. Node marks the low descriptors
 * close-on-exec when it starts, and its own always; a high one left open by an ancestor would reach the agent.
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
