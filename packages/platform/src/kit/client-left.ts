/** A client left before its response. This is not a fault of the service, whatever work fails because of it. */
export class ClientLeft extends Error {
  override readonly name = 'ClientLeft'
}

/** Returns whether an error, or one of its causes, is a client's leaving. */
export function isClientLeft(error: unknown): boolean {
  for (let at = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth += 1) {
    if (at instanceof ClientLeft) return true
  }
  return false
}
