import { compile, type Decision, encode } from './decision.ts'
import { answers, judgedCalls, refusedCalls } from './policy.ts'
import { type Architecture, architectures, NEWEST_SYSTEM_CALL, numbersOf } from './system-calls.ts'

/** On x64 the numbers from here on are those of x32, a second way into the same kernel. */
const FIRST_X32_CALL = 0x4000_0000
/** From here on numbers are negative: a tracer's way to skip a call. */
const FIRST_NEGATIVE = 0x8000_0000

/**
 * Returns the system-call filter of sandboxes and of programs in confinement, as bubblewrap's `--seccomp` takes it.
 *
 * It names what it refuses and lets the rest of the known calls through: an agent runs any program there is. Calls newer
 * than the policy do not exist inside. Calls of another architecture, which the numbers here would misjudge, end the
 * process. From Linux 5.11 on the kernel works out ahead which calls are let through by their number alone, so they
 * cost nothing.
 *
 * @throws RangeError when there is no table for the architecture
 */
export function systemCallFilter(architecture: string = process.arch): Buffer {
  if (!isKnown(architecture)) {
    const known = Object.keys(architectures).join(' and ')
    throw new RangeError(`sandboxes are made on ${known} only: there is no system-call filter for ${architecture}`)
  }
  return encode(compile(decisionFor(architecture)))
}

function isKnown(architecture: string): architecture is Architecture {
  return Object.hasOwn(architectures, architecture)
}

function decisionFor(architecture: Architecture): Decision {
  const kill: Decision = { answer: answers.killProcess }
  const unknown: Decision = { answer: answers.ENOSYS }
  const known: Decision = {
    field: 'number',
    cases: [
      ...judgedCalls.map(([call, decision]) => [numbersOf([call], architecture), decision] as const),
      ...refusedCalls.map(([name, calls]) => [numbersOf(calls, architecture), { answer: answers[name] }] as const),
    ],
    otherwise: { answer: answers.allow },
  }
  const beyond: Decision = {
    field: 'number',
    above: FIRST_NEGATIVE - 1,
    yes: unknown,
    no: { field: 'number', above: FIRST_X32_CALL - 1, yes: kill, no: unknown },
  }
  return {
    field: 'architecture',
    cases: [[[architectures[architecture]], { field: 'number', above: NEWEST_SYSTEM_CALL, yes: beyond, no: known }]],
    otherwise: kill,
  }
}
