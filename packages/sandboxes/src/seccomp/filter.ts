import { compile, type Decision, encode } from './decision.ts'
import { answers, judgedCalls, refusedCalls } from './policy.ts'
import { type Architecture, architectures, NEWEST_SYSTEM_CALL, numbersOf } from './system-calls.ts'

/** On x64, numbers from here on belong to x32, a second interface to the same kernel. */
const FIRST_X32_CALL = 0x4000_0000
/** From here on numbers are negative: a tracer's way to skip a call. */
const FIRST_NEGATIVE = 0x8000_0000

/**
 * Returns the system-call filter of sandboxes and confined programs, in the form of bubblewrap's `--seccomp`. It lists
 * the calls that it refuses and allows the other known ones, because an agent may run any program. Calls newer than the
 * policy get ENOSYS. A call of another architecture kills the process, because the numbers here would misjudge it. From
 * Linux 5.11 on, the kernel precomputes which calls are allowed by their number alone, so those cost nothing.
 * @throws RangeError if there is no table for the architecture
 */
export function systemCallFilter(architecture: string = process.arch): Buffer {
  if (!isKnown(architecture)) {
    const known = Object.keys(architectures).join(' and ')
    throw new RangeError(`sandboxes run on ${known} only: there is no system-call filter for ${architecture}`)
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
