import type { ToolCall } from '@earendil-works/pi-ai'
import { parseObject } from '../json.ts'

/** Key that holds call arguments that are not valid JSON; no tool has a parameter of this name. */
const INVALID = '__invalid_json'
const MAX_SHOWN = 500

/**
 * Marks a call whose arguments are not a JSON object, so that it fails when it is about to run. The engine does not
 * guess: a lenient parser turns `{"command": "rm -rf build` into a command that the model did not mean.
 * @param json the model's own text; absent if the arguments came in one piece and the wire's client parsed them
 */
export function markInvalidArguments(call: ToolCall, json: string | undefined): void {
  if (json === undefined || json.trim() === '') return
  if (parseObject(json) === null) call.arguments = { [INVALID]: json.slice(0, MAX_SHOWN) }
}

/** @throws Error with a message for the model if the arguments were marked */
export function refuseInvalidArguments(args: unknown): void {
  if (typeof args !== 'object' || args === null || !(INVALID in args)) return
  throw new Error(
    `The arguments of this call are not a JSON object, so nothing was done. They begin: ${args[INVALID]}\nCall again with valid JSON.`,
  )
}
