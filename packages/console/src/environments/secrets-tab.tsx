import { type Environment, ifRevision } from '@berth/client'
import { environmentLimits } from '@berth/contract/limits'
import { useMutation } from '@tanstack/react-query'
import { KeyRound, Trash2 } from 'lucide-react'
import { useId, useState } from 'react'
import { berth } from '../api/client.ts'
import { queryClient } from '../api/queries.ts'
import { Button } from '../ui/button.tsx'
import { Field, inputClass } from '../ui/field.tsx'
import { DialogButtons, Overlay } from '../ui/overlay.tsx'
import { EmptyState, InlineProblem } from '../ui/states.tsx'
import { useEnvironmentCan } from './environment-can.ts'
import { refusedBy, secretFault } from './issues.ts'
import { environmentQuery } from './queries.ts'

/** Names of the secrets, and the way to set, replace and remove their values. No value ever comes back. */
export function SecretsTab({ environment }: { environment: Environment }) {
  const can = useEnvironmentCan(environment)
  const [replaced, setReplaced] = useState<string | null>(null)
  const [removed, setRemoved] = useState<string | null>(null)
  const { secrets, id } = environment
  const warnings = new Map(
    environment.warnings.flatMap(({ path, message }) => (path[0] === 'secrets' ? [[String(path[1]), message]] : [])),
  )
  return (
    <div className="flex flex-col gap-6">
      <p className="max-w-prose text-[0.8125rem] text-ink-2">
        Sandboxes get each secret as a variable of its name. Values are sealed, masked in every log, and never shown
        again. A change counts from the next fresh sandbox.
      </p>
      {secrets.length === 0 ? (
        <EmptyState icon={KeyRound} title="No secrets yet">
          Tokens and passwords that the setup script or the agent needs belong here, not under Variables.
        </EmptyState>
      ) : (
        <ul className="flex flex-col divide-y divide-line rounded-md border border-line">
          {secrets.map(({ name, version }) => (
            <li key={name} className="flex flex-wrap items-center gap-2 px-3 py-2">
              <span className="min-w-0 flex-1">
                <span className="block truncate font-mono text-[0.8125rem]">{name}</span>
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
          ))}
        </ul>
      )}
      <section aria-labelledby="new-secret" className="flex flex-col gap-3 border-t border-line pt-6">
        <h2 id="new-secret" className="text-sm font-semibold">
          New secret
        </h2>
        <SecretForm environment={environment} name={null} />
      </section>
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

/** Writes with the newest revision: a secret is one member, so another person's revision is no reason to refuse. */
async function withNewest(id: string, write: (seen: number) => Promise<{ readonly environment: Environment }>) {
  const { environment: newest } = await berth.call('getEnvironment', { environmentId: id })
  return (await write(newest.revision)).environment
}

function keep(environment: Environment): void {
  queryClient.setQueryData(environmentQuery(environment.id).queryKey, environment)
  void queryClient.invalidateQueries({ queryKey: ['environment', environment.id, 'revisions'] })
}

function SecretForm(props: { environment: Environment; name: string | null; onDone?: () => void }) {
  const { environment, name: fixed, onDone } = props
  const can = useEnvironmentCan(environment)
  const id = useId()
  const [entered, setEntered] = useState({ name: fixed ?? '', value: '' })
  const write = useMutation({
    mutationFn: ({ name, value }: typeof entered) =>
      withNewest(environment.id, seen =>
        berth.call('putEnvironmentSecret', {
          environmentId: environment.id,
          name,
          body: { value },
          headers: ifRevision(seen),
        }),
      ),
    onSuccess: saved => {
      setEntered({ name: '', value: '' })
      keep(saved)
      onDone?.()
    },
  })
  const faults = secretFault(entered.name, entered.value)
  const refused = refusedBy(write.error, null)
  const isTaken = fixed === null && environment.secrets.some(({ name }) => name === entered.name)
  const nameFault =
    entered.name === ''
      ? undefined
      : (faults.name ?? (isTaken ? 'There is a secret of this name. Replace its value above.' : undefined))
  const ready = entered.name !== '' && entered.value !== '' && nameFault === undefined && faults.value === undefined
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={event => {
        event.preventDefault()
        if (ready) write.mutate(entered)
      }}
    >
      {fixed === null && (
        <Field label="Name" fault={nameFault} hint="As the variable is called, such as NPM_TOKEN.">
          {attributes => (
            <input
              {...attributes}
              value={entered.name}
              autoComplete="off"
              spellCheck={false}
              onChange={event => {
                write.reset()
                setEntered({ ...entered, name: event.target.value })
              }}
              className={`${inputClass} max-w-sm font-mono text-[0.8125rem]`}
            />
          )}
        </Field>
      )}
      <Field
        label="Value"
        fault={faults.value}
        hint={`At most ${environmentLimits.secretBytes.toLocaleString('en')} bytes. It may have several lines.`}
      >
        {attributes => (
          <textarea
            {...attributes}
            id={attributes.id || id}
            value={entered.value}
            rows={3}
            autoComplete="off"
            spellCheck={false}
            data-1p-ignore
            onChange={event => {
              write.reset()
              setEntered({ ...entered, value: event.target.value })
            }}
            className={`${inputClass} [-webkit-text-security:disc] font-mono text-[0.8125rem]`}
          />
        )}
      </Field>
      {refused === null ? (
        <InlineProblem error={write.error} />
      ) : (
        <p role="alert" className="text-xs text-bad">
          {refused.issues.map(({ message }) => `The service refuses it: it ${message}.`).join(' ')}
        </p>
      )}
      <div>
        <Button
          type="submit"
          variant="primary"
          busy={write.isPending}
          verdict={
            can('writeSecret').allowed && !ready
              ? { allowed: false, reason: nameFault ?? faults.value ?? 'Enter a name and a value.' }
              : can('writeSecret')
          }
        >
          {fixed === null ? 'Set the secret' : 'Replace the value'}
        </Button>
      </div>
    </form>
  )
}

function RemoveSecret({ environmentId, name, onDone }: { environmentId: string; name: string; onDone: () => void }) {
  const remove = useMutation({
    mutationFn: () =>
      withNewest(environmentId, seen =>
        berth.call('deleteEnvironmentSecret', { environmentId, name, headers: ifRevision(seen) }),
      ),
    onSuccess: saved => {
      keep(saved)
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
