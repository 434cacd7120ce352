import type { RuntimeEntry } from '../../runtimes/catalog.ts'
import type { ExecutionContext } from './execution-context.ts'

/**
 * The gateway's model for a Run: the one that its Session had when the Turn was admitted, else the deployment's; for an
 * agent that speaks a format in which that is not served, the first that is.
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
