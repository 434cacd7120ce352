import { interactionLimits as bounds } from '@berth/contract'
import type { Json } from '../../kit/json.ts'
import { asObject, asText, readCallText } from './acp-message.ts'
import { clip } from './clip.ts'
import type { KnownCall } from './transcript.ts'

/** Ends a plan that is cut, so that people see it in every client: they approve the whole by its beginning. */
const CUT = '\n\n[The plan is longer than can be shown. This is its beginning.]'

/** A plan as people are shown it. */
export interface ShownPlan {
  readonly plan: string
  /** Set if the agent's plan is longer. */
  readonly planTruncated?: true
}

/**
 * Returns the plan that a tool call asks people to approve, within its bound in characters. A plan that is cut says so.
 * @param given the call as the request for permission has it
 * @param call the call as the transcript has it, whose texts are held to a bound in bytes
 */
export function readPlan(given: Json, call: Pick<KnownCall, 'text' | 'input' | 'truncated'> | null): ShownPlan {
  const whole = readCallText(given) ?? planIn(given['rawInput'])
  const plan = whole ?? call?.text ?? planIn(call?.input) ?? ''
  const isCut = (whole === undefined && call?.truncated === true) || clip(plan, bounds.planCharacters) !== plan
  return isCut ? { plan: clip(plan, bounds.planCharacters - CUT.length) + CUT, planTruncated: true } : { plan }
}

const planIn = (input: unknown) => asText(asObject(input)?.['plan'])
