/** The part of jq-wasm that filters use. It is an optional package, so the types do not come from it. */
declare module 'jq-wasm' {
  /** Returns what jq prints for one JSON text; rejects with what it says of a faulty filter. */
  export function raw(json: string, filter: string, flags: readonly string[]): Promise<string>
}
