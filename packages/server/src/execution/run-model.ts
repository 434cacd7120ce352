import type { ExecutionContext } from './execution-context.ts'

/** The gateway's model for a Run: the one that its Session had when the Turn was admitted, else the deployment's. */
export function modelOf(
  { defaultModel }: Pick<ExecutionContext, 'defaultModel'>,
  run: { readonly model: string | null },
): string | null {
  return run.model ?? defaultModel
}
