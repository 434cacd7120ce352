import { UsageError } from './failure.ts'

/**
 * Works with a module of the service. The name is not looked through, so that the bundle leaves the service outside: a
 * client alone must not carry or load it. What an operator can mend is told in one line.
 * @throws UsageError
 */
export async function withServer<Module, Result>(
  name: string,
  work: (module: Module) => Promise<Result>,
): Promise<Result> {
  try {
    return await work((await import(name)) as Module)
  } catch (error) {
    if (!(error instanceof Error)) throw error
    if (error.name === 'StartError') throw new UsageError(error.message)
    const missing = error.message.includes("'@berth/server'")
    throw missing ? new UsageError('this installation has the client only; the service is not part of it') : error
  }
}
