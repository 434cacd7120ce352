import { UsageError } from '../failure.ts'

/** What the server package promises of its composition root. */
interface ServerModule {
  /** Resolves with the exit code once the service has stopped. */
  serve(env: NodeJS.ProcessEnv): Promise<number>
}

/** Held in a variable so that the bundle leaves the service outside: a client alone must not carry or load it. */
const serverModule: string = '@berth/server/main'

/** Runs the service in this process until it is told to stop; returns the exit code. */
export async function serve(env: NodeJS.ProcessEnv): Promise<number> {
  const { serve: start } = await loadServer()
  return start(env)
}

async function loadServer(): Promise<ServerModule> {
  try {
    return (await import(serverModule)) as ServerModule
  } catch (cause) {
    const missing = cause instanceof Error && cause.message.includes("'@berth/server'")
    throw missing ? new UsageError('this installation has the client only; the service is not part of it') : cause
  }
}
