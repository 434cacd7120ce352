import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { confine } from './confined.ts'

const NOBODY = 65_534
/** Of `open_by_handle_at` and `keyctl`, on either architecture. */
const numbers = process.arch === 'x64' ? [304, 250] : [265, 219]
/** Perl makes system calls by number, and comes with git. */
const probe = [
  ...numbers.map(number => `syscall(${number}, -1, 0, 0); print $! + 0, "\\n";`),
  'for my $fd (3 .. 20) { print "descriptor $fd\\n" if open(my $copy, "<&=", $fd) }',
].join(' ')

describe('a program in confinement', () => {
  it.each([true, false])('runs under the system-call filter, with a capability to read all: %s', async readsAll => {
    const program = confine({
      ...(process.getuid?.() === 0 && { uid: NOBODY }),
      readsAll,
      environment: { PATH: '/usr/bin:/bin' },
      directories: [],
      mounts: [],
      command: ['perl', '-e', probe],
    })
    program.input.end()
    const [said, end] = await Promise.all([text(program.output), program.ended])
    expect(end).toBe('0')
    // EPERM twice, and not a descriptor beyond the standard streams.
    expect(said).toBe('1\n1\n')
  })
})
