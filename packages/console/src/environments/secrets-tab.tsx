import { type Environment, ifRevision } from '@berth/client'
import { useMutation } from '@tanstack/react-query'
import { KeyRound, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { berth } from '../api/client.ts'
import { Button } from '../ui/button.tsx'
import { DialogButtons, Overlay } from '../ui/overlay.tsx'
import { EmptyState, InlineProblem } from '../ui/states.tsx'
import { useEnvironmentCan } from './environment-can.ts'
import { OutsideCredentials } from './outside-credentials.tsx'
import { exposureText } from './secret-exposure.ts'
import { SecretForm } from './secret-form.tsx'
import { keepSaved, withNewest } from './write-secret.ts'

/** Names of the secrets, and the way to set, replace and remove their values. No value ever comes back. */
export function SecretsTab({ environment }: { environment: Environment }) {
  const can = useEnvironmentCan(environment)
  const [replaced, setReplaced] = useState<string | null>(null)
  const [removed, setRemoved] = useState<string | null>(null)
  const { secrets, id } = environment
  const warnings = new Map<string, string>()
  for (const { path, message } of environment.warnings) {
    const [member, name] = path.map(String)
    if (member !== 'secrets' || name === undefined) continue
    warnings.set(name, [...(warnings.has(name) ? [warnings.get(name)] : []), message].join('; '))
  }
  return (
    <div className="flex flex-col gap-6">
      <p className="max-w-prose text-[0.8125rem] text-ink-2">
        Sandboxes get each secret as a variable of its name, or a placeholder that stands for it at the edge. Values are
        sealed, masked in every log, and never shown again. A change counts from the next fresh sandbox.
      </p>
      {secrets.length === 0 ? (
        <EmptyState icon={KeyRound} title="No secrets yet">
          Tokens and passwords that the setup script or the agent needs belong here, not under Variables.
        </EmptyState>
      ) : (
        <ul className="flex flex-col divide-y divide-line rounded-md border border-line">
          {secrets.map(secret => {
            const { name, version } = secret
            return (
              <li key={name} className="flex flex-wrap items-center gap-2 px-3 py-2">
                <span className="min-w-0 flex-1">
                  <span className="block truncate font-mono text-[0.8125rem]">{name}</span>
                  <span className="block text-xs text-ink-2">{exposureText(secret)}</span>
                  <span className={`block text-xs ${warnings.has(name) ? 'text-warning' : 'text-ink-3'}`}>
                    Version {version}
                    {warnings.has(name) && `: ${warnings.get(name)}`}
                  </span>
                </span>
                <Button aria-label={`Replace ${name}`} verdict={can('writeSecret')} onClick={() => setReplaced(name)}>
                  Replace
                </Button>
                <Button
                  variant="danger"
                  aria-label={`Remove ${name}`}
                  verdict={can('writeSecret')}
                  onClick={() => setRemoved(name)}
                >
                  <Trash2 className="size-4" aria-hidden />
                </Button>
              </li>
            )
          })}
        </ul>
      )}
      <section aria-labelledby="new-secret" className="flex flex-col gap-3 border-t border-line pt-6">
        <h2 id="new-secret" className="text-sm font-semibold">
          New secret
        </h2>
        <SecretForm environment={environment} name={null} />
      </section>
      <OutsideCredentials environment={environment} />
      {replaced !== null && (
        <Overlay title={`Replace ${replaced}`} onClose={() => setReplaced(null)}>
          <div className="px-5 pb-5">
            <SecretForm environment={environment} name={replaced} onDone={() => setReplaced(null)} />
          </div>
        </Overlay>
      )}
      {removed !== null && <RemoveSecret environmentId={id} name={removed} onDone={() => setRemoved(null)} />}
    </div>
  )
}

function RemoveSecret({ environmentId, name, onDone }: { environmentId: string; name: string; onDone: () => void }) {
  const remove = useMutation({
    mutationFn: () =>
      withNewest(environmentId, seen =>
        berth.call('deleteEnvironmentSecret', { environmentId, name, headers: ifRevision(seen) }),
      ),
    onSuccess: saved => {
      keepSaved(saved)
      onDone()
    },
  })
  return (
    <Overlay title={`Remove ${name}?`} onClose={onDone}>
      <div className="flex flex-col gap-4 px-5 pb-5">
        <p>
          Its value is destroyed. Sandboxes that are made from now on do not get it, and a restored revision does not
          bring it back.
        </p>
        <InlineProblem error={remove.error} />
        <DialogButtons>
          <Button onClick={onDone}>Keep it</Button>
          <Button variant="danger" busy={remove.isPending} onClick={() => remove.mutate()}>
            Remove the secret
          </Button>
        </DialogButtons>
      </div>
    </Overlay>
  )
}
