import { type Environment, ifRevision } from '@berth/client'
import { egressLimits, environmentLimits } from '@berth/contract/limits'
import { useMutation } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { berth } from '../api/client.ts'
import { Button } from '../ui/button.tsx'
import { Field, inputClass } from '../ui/field.tsx'
import { InlineProblem } from '../ui/states.tsx'
import { useEnvironmentCan } from './environment-can.ts'
import { ExposureFields } from './exposure-fields.tsx'
import { refusedBy, secretFault } from './issues.ts'
import { enteredOf, exposureFaults, isComplete, proposalFor, toWrite } from './secret-exposure.ts'
import { keepSaved, withNewest } from './write-secret.ts'

/** Writes a secret: its name if it is new, its value, and how sandboxes get it. */
export function SecretForm(props: { environment: Environment; name: string | null; onDone?: () => void }) {
  const { environment, name: fixed, onDone } = props
  const can = useEnvironmentCan(environment)
  const id = useId()
  const pin = environment.secrets.find(({ name }) => name === fixed) ?? null
  const [entered, setEntered] = useState({ name: fixed ?? '', value: '' })
  const [exposure, setExposure] = useState(() => enteredOf(pin))
  const write = useMutation({
    mutationFn: ({ name, value }: typeof entered) =>
      withNewest(environment.id, seen =>
        berth.call('putEnvironmentSecret', {
          environmentId: environment.id,
          name,
          body: { ...toWrite(exposure), ...(value !== '' && { value }) },
          headers: ifRevision(seen),
        }),
      ),
    onSuccess: saved => {
      setEntered({ name: '', value: '' })
      setExposure(enteredOf(null))
      keepSaved(saved)
      onDone?.()
    },
  })
  const faults = secretFault(entered.name, entered.value)
  const wrong = exposureFaults(exposure)
  const refused = refusedBy(write.error, null)
  const isTaken = fixed === null && environment.secrets.some(({ name }) => name === entered.name)
  const nameFault =
    entered.name === ''
      ? undefined
      : (faults.name ?? (isTaken ? 'There is a secret of this name. Replace its value above.' : undefined))
  const isChanged = JSON.stringify(exposure) !== JSON.stringify(enteredOf(pin))
  const keepsValue = pin !== null && entered.value === '' && isChanged
  const reason =
    nameFault ??
    faults.value ??
    Object.values(wrong)[0] ??
    (entered.name === '' || (entered.value === '' && !keepsValue)
      ? fixed === null
        ? 'Enter a name and a value.'
        : 'Enter a value, or change how sandboxes get it.'
      : isComplete(exposure)
        ? undefined
        : 'Name a host.')
  const proposal = fixed === null && exposure.exposure === 'variable' ? proposalFor(entered.name) : null
  const change = <T,>(set: (value: T) => void) => {
    return (value: T) => {
      write.reset()
      set(value)
    }
  }
  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={event => {
        event.preventDefault()
        if (reason === undefined) write.mutate(entered)
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
              onChange={({ target }) => change(setEntered)({ ...entered, name: target.value })}
              className={`${inputClass} max-w-sm font-mono text-[0.8125rem]`}
            />
          )}
        </Field>
      )}
      <Field
        label="Value"
        fault={faults.value}
        hint={
          pin !== null
            ? 'Leave it empty to keep the present value. A change that lets it go where it could not go before needs it again.'
            : exposure.exposure === 'egress'
              ? `One line of at most ${egressLimits.valueBytes.toLocaleString('en')} bytes.`
              : `At most ${environmentLimits.secretBytes.toLocaleString('en')} bytes. It may have several lines.`
        }
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
            onChange={({ target }) => change(setEntered)({ ...entered, value: target.value })}
            className={`${inputClass} [-webkit-text-security:disc] font-mono text-[0.8125rem]`}
          />
        )}
      </Field>
      {proposal !== null && (
        <div className="flex flex-wrap items-center gap-3 rounded-md border border-line px-3 py-2 text-[0.8125rem]">
          <span className="min-w-0 flex-1">
            A key of {proposal.service} can stay at the edge, so that no program of a sandbox has it.
          </span>
          <Button onClick={() => change(setExposure)(proposal.fields)}>Keep it at the edge</Button>
        </div>
      )}
      <ExposureFields entered={exposure} faults={wrong} onChange={change(setExposure)} />
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
          verdict={can('writeSecret').allowed && reason !== undefined ? { allowed: false, reason } : can('writeSecret')}
        >
          {fixed === null ? 'Set the secret' : keepsValue ? 'Change how it is used' : 'Replace the value'}
        </Button>
      </div>
    </form>
  )
}
