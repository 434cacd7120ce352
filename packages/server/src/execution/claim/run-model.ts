import type { RuntimeEntry } from '../../runtimes/catalog.ts'
import type { ExecutionContext } from './execution-context.ts'

/**
 * Returns the gateway's model for a Run: the Session's model when the Turn was admitted, else the deployment's default.
 * If the agent's format is not served for that default, it is the first model for which it is.
 */
export function modelOf(
  { defaultModel, models }: Pick<ExecutionContext, 'defaultModel' | 'models'>,
  run: { readonly model: string | null },
  runtime: Pick<RuntimeEntry, 'speaks'> | null,
): string | null {
  if (run.model !== null) return run.model
  const format = runtime?.speaks
  const fits = format === undefined || (defaultModel !== null && models.speaks(defaultModel, format))
  return fits ? defaultModel : models.firstThatSpeaks(format)
}
