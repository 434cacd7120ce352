import { UsageError } from './failure.ts'

/**
 * Calls `work` with a module of the service. The name is not a literal, so the bundler leaves the service out: a client
 * must not contain or load it.
 * @throws UsageError if the service is not installed or cannot start, with a line that says how to fix it
 */
export async function withServer<Module, Result>(
  name: string,
  work: (module: Module) => Promise<Result>,
): Promise<Result> {
  // Stack traces of the service name its sources.
  process.setSourceMapsEnabled(true)
  try {
    return await work((await import(name)) as Module)
  } catch (error) {
    if (!(error instanceof Error)) throw error
    if (error.name === 'StartError') throw new UsageError(error.message)
    if (/server\/dist\/\w+\.js'/.test(error.message) && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND')
      throw new UsageError('the service of this checkout has not been built: run npm run build')
    const missing = error.message.includes("'@berth/server'")
    throw missing
      ? new UsageError('this installation contains only the client; run this command where the service is installed')
      : error
  }
}
