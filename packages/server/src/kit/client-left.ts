/** A client went before its request was answered: no fault of the service, whatever work fails because of it. */
export class ClientLeft extends Error {
  override readonly name = 'ClientLeft'
}

/** Whether an error says that a client went, by itself or by its cause. */
export function isClientLeft(error: unknown): boolean {
  for (let at = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth += 1) {
    if (at instanceof ClientLeft) return true
  }
  return false
}
