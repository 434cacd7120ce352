import { UsageError } from '../failure.ts'

/**
 * Returns the values that a filter of jq makes of a value.
 * @throws UsageError if the filter is none, fails, or jq is not installed
 */
export async function filterJson(value: unknown, filter: string): Promise<readonly unknown[]> {
  const { raw } = await loadJq()
  // jq prints one value a line with this flag.
  const made = await raw(JSON.stringify(value), filter, ['-c']).catch((failure: unknown) => {
    const message = failure instanceof Error ? failure.message : String(failure)
    throw new UsageError(`--jq: ${message.replace(/^(Failed to execute raw query: )?jq: error: /, '').trim()}`)
  })
  return made.split('\n').flatMap(line => (line === '' ? [] : [JSON.parse(line) as unknown]))
}

async function loadJq(): Promise<typeof import('jq-wasm')> {
  try {
    return await import('jq-wasm')
  } catch {
    throw new UsageError('--jq needs the package jq-wasm, which npm leaves out with --omit=optional; install it')
  }
}
