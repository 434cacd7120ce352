import type { ToolCall } from '@earendil-works/pi-ai'

/** Under it stand the arguments of a call that were no JSON; no tool has a parameter of that name. */
const INVALID = '__invalid_json'
const MAX_SHOWN = 500

/**
 * Arguments that are no JSON are not guessed at: what a lenient reader makes of `{"command": "rm -rf build` is not what
 * was meant. They are marked, and the call fails with what is wrong when it is about to run.
 * @param json what the model wrote; absent where it came in one piece, read by the wire's client
 */
export function markInvalidArguments(call: ToolCall, json: string | undefined): void {
  if (json === undefined || json.trim() === '') return
  try {
    const parsed: unknown = JSON.parse(json)
    if (typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed)) return
  } catch {
    // Said below.
  }
  call.arguments = { [INVALID]: json.slice(0, MAX_SHOWN) }
}

/** @throws where the arguments were marked, in words for the model */
export function refuseInvalidArguments(args: unknown): void {
  if (typeof args !== 'object' || args === null || !(INVALID in args)) return
  throw new Error(
    `The arguments of this call are not a JSON object, so nothing was done. They begin: ${args[INVALID]}\nCall again with valid JSON.`,
  )
}
