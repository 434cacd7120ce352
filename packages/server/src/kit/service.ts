/** Anything that runs: it starts once, and disposing of it stops it and waits for the work under way. */
export interface Service extends AsyncDisposable {
  readonly name: string
  start(): Promise<void>
}
