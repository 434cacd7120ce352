import type { ModelCheck } from '@berth/contract'
import { useMutation } from '@tanstack/react-query'
import { CircleCheck, CircleX } from 'lucide-react'
import { call } from '../../api/client.ts'
import { queryClient, runtimesQuery } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { counted } from '../../ui/format.ts'
import { InlineProblem } from '../../ui/states.tsx'
import { Part } from '../limits/limits-page.tsx'
import { outcomeLabel } from './outcome-labels.ts'

const snippet = `{
  "providers": [{ "id": "main", "kind": "openai", "apiKey": { "env": "OPENAI_API_KEY" } }],
  "models": { "default": "main/gpt-5" }
}`

/** How to add a provider of models, and a button that asks those that there are. */
export function ModelSetup({ empty }: { empty: boolean }) {
  const check = useMutation({
    mutationFn: () => call<ModelCheck>('POST', 'models/check'),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: runtimesQuery.queryKey }),
  })
  return (
    <Part
      title="Providers"
      about="The service asks each provider for its list of models: that proves address and key, and costs nothing."
    >
      <details open={empty} className="rounded-lg border border-line text-[0.8125rem]">
        <summary className="cursor-pointer px-4 py-2.5 font-medium">Add a provider</summary>
        <div className="flex flex-col gap-3 border-t border-line px-4 py-3">
          <p>
            1. Put it into the configuration file: <code className="font-mono">BERTH_CONFIG</code>, or{' '}
            <code className="font-mono">berth.json</code> in the data directory.
          </p>
          <pre className="whitespace-pre-wrap rounded-md border border-line bg-code p-3 font-mono text-xs">
            {snippet}
          </pre>
          <p>2. Start the service again, with the key in its environment.</p>
          <p>
            3. Check it here. Other providers, prices and fallbacks:{' '}
            <a href="/docs/gateway#configure-a-provider" className="text-accent underline underline-offset-2">
              Configure a provider
            </a>
            .
          </p>
        </div>
      </details>
      <div>
        <Button busy={check.isPending} onClick={() => check.mutate()}>
          Check the providers
        </Button>
      </div>
      <InlineProblem error={check.error} />
      <div role="status">{check.data !== undefined && <Outcomes check={check.data} />}</div>
    </Part>
  )
}

function Outcomes({ check: { providers } }: { check: ModelCheck }) {
  if (providers.length === 0) {
    return (
      <p className="text-[0.8125rem]">
        The running service knows no provider that your organization may use. After a change of the file it has to be
        started again.
      </p>
    )
  }
  return (
    <ul className="flex flex-col divide-y divide-line rounded-lg border border-line text-[0.8125rem]">
      {providers.map(({ id, outcome, models, detail }) => (
        <li key={id} className="flex items-start gap-2.5 px-4 py-2.5">
          {outcome === 'answered' ? (
            <CircleCheck className="mt-0.5 size-4 shrink-0 text-good" aria-hidden />
          ) : (
            <CircleX className="mt-0.5 size-4 shrink-0 text-bad" aria-hidden />
          )}
          <div className="min-w-0">
            <p>
              <strong className="font-semibold">{id}</strong> {outcomeLabel(outcome)}
              {models !== null && ` It has ${counted(models, 'model')}.`}
            </p>
            {detail !== undefined && <p className="text-xs text-ink-3 [overflow-wrap:anywhere]">{detail}</p>}
          </div>
        </li>
      ))}
    </ul>
  )
}
