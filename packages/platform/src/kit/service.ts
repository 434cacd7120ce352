/** A part of the process that starts once. Disposing of it stops it and waits for work in progress. */
export interface Service extends AsyncDisposable {
  readonly name: string
  start(): Promise<void>
}
