/** Returns the code of a system error, such as `ENOENT`; undefined for anything else. */
export function errorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}

/** Waits for the work; resolves with undefined if it fails with one of `codes`. */
export async function ignoring<T>(codes: readonly string[], work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    const code = errorCode(error)
    if (code !== undefined && codes.includes(code)) return undefined
    throw error
  }
}
