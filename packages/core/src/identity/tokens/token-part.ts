/** Reads a part of a JWT; null if it is not one. */
export function readTokenPart(part: string): unknown {
  if (!/^[A-Za-z0-9_-]+$/.test(part)) return null
  try {
    return JSON.parse(Buffer.from(part, 'base64url').toString('utf8'))
  } catch {
    return null
  }
}
