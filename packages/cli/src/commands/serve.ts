import { withServer } from '../server-module.ts'

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

/** Runs the service in this process until it is told to stop; returns the exit code. */
export function serve(env: NodeJS.ProcessEnv): Promise<number> {
  return withServer('@berth/server/main', (server: ServerModule) => server.serve(env))
}

/** Installs an agent beside the service of these settings; returns the exit code. */
export function installRuntime(env: NodeJS.ProcessEnv, id: string): Promise<number> {
  return withServer('@berth/server/install', ({ installCommand }: InstallModule) => installCommand(env, id))
}
