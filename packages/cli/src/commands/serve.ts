import { UsageError } from '../failure.ts'

/** What the server package promises of its composition root. */
interface ServerModule {
  /** Resolves with the exit code once the service has stopped. */
  serve(env: NodeJS.ProcessEnv): Promise<number>
}

/** What it promises of what installs agents. */
interface InstallModule {
  /** Resolves with the exit code. */
  installCommand(env: NodeJS.ProcessEnv, id: string): Promise<number>
}

/** Held in variables so that the bundle leaves the service outside: a client alone must not carry or load it. */
const serverModule: string = '@berth/server/main'
const installModule: string = '@berth/server/install'

/** Runs the service in this process until it is told to stop; returns the exit code. */
export async function serve(env: NodeJS.ProcessEnv): Promise<number> {
  const { serve: start } = await load<ServerModule>(serverModule)
  return start(env)
}

/** Installs an agent beside the service of these settings; returns the exit code. */
export async function installRuntime(env: NodeJS.ProcessEnv, id: string): Promise<number> {
  const { installCommand } = await load<InstallModule>(installModule)
  return installCommand(env, id)
}

async function load<Module>(name: string): Promise<Module> {
  try {
    return (await import(name)) as Module
  } catch (cause) {
    const missing = cause instanceof Error && cause.message.includes("'@berth/server'")
    throw missing ? new UsageError('this installation has the client only; the service is not part of it') : cause
  }
}
