import type { Context } from '@berth/core/context.ts'

/** Returns true if the agent of a Session runs each message as a script, so that text of strangers must not be in one. */
export function runsScripts(runtimes: Context['runtimes'], { runtime }: { readonly runtime?: string | null }): boolean {
  return runtime !== null && runtime !== undefined && runtimes.find(runtime)?.isScript === true
}
