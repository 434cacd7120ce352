/** This worker no longer holds the claim; the fence refuses its writes. */
export class ClaimLost extends Error {
  override readonly name = 'ClaimLost'
}

/** This worker stops; its agents go on and other workers take over. */
export class WorkerStopping extends Error {
  override readonly name = 'WorkerStopping'
}
