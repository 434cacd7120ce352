import { withServer } from '../server-module.ts'

/** The entry point that the server package exports. */
interface ServerModule {
  /** Resolves with the exit code once the service has stopped. */
  serve(env: NodeJS.ProcessEnv): Promise<number>
}

/** The installer that the server package exports. */
interface InstallModule {
  /** Resolves with the exit code. */
  installCommand(env: NodeJS.ProcessEnv, id: string): Promise<number>
}

/** Runs the service in this process until it is told to stop; returns the exit code. */
export function serve(env: NodeJS.ProcessEnv): Promise<number> {
  return withServer('@berth/server/main', (server: ServerModule) => server.serve(env))
}

/** Installs an agent for the service with these settings; returns the exit code. */
export function installRuntime(env: NodeJS.ProcessEnv, id: string): Promise<number> {
  return withServer('@berth/server/install', ({ installCommand }: InstallModule) => installCommand(env, id))
}
