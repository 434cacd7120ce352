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

/** The program of a host that the server package exports. */
interface HostModule {
  /** Resolves with the exit code once the host has stopped. */
  host(env: NodeJS.ProcessEnv): Promise<number>
}

/** Options of `berth host`. Each stands for a variable of the same meaning. */
export interface HostOptions {
  readonly url?: string
  readonly token?: string
  readonly capacity?: string
  readonly pool?: string
  readonly label?: readonly string[]
}

/** Holds sandboxes of this machine for a service, until it is told to stop; returns the exit code. */
export function holdSandboxes(
  env: NodeJS.ProcessEnv,
  { url, token, capacity, pool, label = [] }: HostOptions,
): Promise<number> {
  const named = {
    ...(url !== undefined && { BERTH_HOST_URL: url }),
    ...(token !== undefined && { BERTH_HOST_TOKEN: token }),
    ...(capacity !== undefined && { BERTH_HOST_CAPACITY: capacity }),
    ...(pool !== undefined && { BERTH_HOST_POOL: pool }),
    ...(label.length > 0 && { BERTH_HOST_LABELS: label.join(',') }),
  }
  return withServer('@berth/server/host', ({ host }: HostModule) => host({ ...env, ...named }))
}

/** Installs an agent for the service with these settings; returns the exit code. */
export function installRuntime(env: NodeJS.ProcessEnv, id: string): Promise<number> {
  return withServer('@berth/server/install', ({ installCommand }: InstallModule) => installCommand(env, id))
}

/** The end of sandboxes that the server package exports. */
interface DownModule {
  /** Resolves with the exit code. */
  down(env: NodeJS.ProcessEnv, options: DownOptions): Promise<number>
}

/** Options of `berth down`. */
export interface DownOptions {
  readonly data?: string
  readonly force?: boolean
}

/** Ends every sandbox of a data directory on this machine; returns the exit code. */
export function endSandboxes(env: NodeJS.ProcessEnv, options: DownOptions): Promise<number> {
  return withServer('@berth/server/down', ({ down }: DownModule) => down(env, options))
}
