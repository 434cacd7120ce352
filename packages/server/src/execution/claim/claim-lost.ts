/** The claim is no longer ours; whatever we would still write is refused. */
export class ClaimLost extends Error {
  override readonly name = 'ClaimLost'
}

/** This worker stops; agents go on and others take over. */
export class WorkerStopping extends Error {
  override readonly name = 'WorkerStopping'
}
