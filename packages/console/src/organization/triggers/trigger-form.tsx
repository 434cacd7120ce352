import type { Trigger } from '@berth/contract'
import { TickBox } from '../../ui/tick-box.tsx'
import { keptAs } from '../dialogs.ts'
import { ChoiceField, FormDialog, LinesField, TextField, withTick } from '../form-dialog.tsx'
import type { KeptForm } from '../kept-form.ts'
import { useKeptForm } from '../kept-form.ts'
import { useOrganizationCan } from '../organization-can.ts'
import { putTrigger, refreshTriggers } from './queries.ts'
import { fieldsOf, newFields, type TriggerFields, toBody, triggerFaults } from './trigger-fields.ts'
import { eventLabel, type Sender, senderLabel } from './trigger-labels.ts'

/** An installation that a trigger can belong to. */
export interface TriggerPlace {
  readonly id: string
  readonly name: string
}

/** Creates a trigger, or changes one. */
export function TriggerForm(props: {
  organizationId: string
  places: readonly TriggerPlace[]
  /** The trigger that is changed; absent: a new one. */
  before?: Trigger
  onDone: (installationId: string, triggerId: string) => void
  onClose: () => void
}) {
  const { organizationId, places, before, onDone, onClose } = props
  const can = useOrganizationCan()
  const form = useKeptForm({
    name: keptAs(before === undefined ? 'new' : 'edit'),
    initial: before === undefined ? newFields(places[0]?.id ?? '') : fieldsOf(before),
    faultsOf: triggerFaults,
    send: async fields => {
      const id = before?.id ?? crypto.randomUUID()
      await putTrigger(id, toBody(fields, before))
      return { installation: fields.installation, id }
    },
    onSent: ({ installation, id }) => {
      refreshTriggers(organizationId)
      onDone(installation, id)
    },
  })
  const { fields, values } = form
  return (
    <FormDialog
      title={before === undefined ? 'New trigger' : 'Change the trigger'}
      act={before === undefined ? 'Create' : 'Save'}
      form={form}
      verdict={can('writeTrigger')}
      onClose={onClose}
    >
      <TextField form={form} name="name" label="Name" maxLength={160} autoFocus />
      {before === undefined && (
        <ChoiceField
          label="Installation"
          hint="Its Sessions, its repositories and its rights are the trigger's."
          choices={places.map(({ id, name }) => [id, name])}
          value={values.installation}
          onChange={event => fields.setValue('installation', event.target.value)}
        />
      )}
      <ChoiceField
        label="Who posts to it"
        choices={Object.entries(senderLabel)}
        value={values.sender}
        onChange={event => fields.setValue('sender', event.target.value as Sender)}
      />
      {values.sender === 'events' && <EventFields form={form} />}
      <div className="grid gap-4 sm:grid-cols-2">
        <TextField
          form={form}
          name="cron"
          label="Schedule"
          hint="Minute, hour, day, month, day of the week. Leave it empty for none."
          exact
          placeholder="0 7 * * 1-5"
        />
        {values.cron.trim() !== '' && <TextField form={form} name="timeZone" label="Time zone" exact />}
        <TextField
          form={form}
          name="budget"
          label="Budget (US dollars)"
          hint="What each of its Sessions may spend on models. Leave it empty for no bound."
          inputMode="decimal"
          exact
        />
      </div>
      <LinesField
        form={form}
        name="message"
        label="Message"
        hint="What the agent is told. {{path.to.field}} stands for a field of what is posted."
        exact
        rows={5}
      />
    </FormDialog>
  )
}

function EventFields({ form }: { form: KeptForm<TriggerFields, unknown> }) {
  const { fields, values } = form
  return (
    <>
      <fieldset>
        <legend className="mb-2 text-[0.8125rem] font-medium">Fires on</legend>
        <div className="grid gap-2.5 sm:grid-cols-2">
          {Object.entries(eventLabel).map(([kind, [name, means]]) => (
            <TickBox
              key={kind}
              means={means}
              checked={values.on.includes(kind)}
              onChange={event => fields.setValue('on', withTick(values.on, kind, event.target.checked))}
            >
              {name}
            </TickBox>
          ))}
        </div>
      </fieldset>
      <div className="grid gap-4 sm:grid-cols-2">
        {values.on.includes('comment') && <TextField form={form} name="mention" label="Mention" exact />}
        {values.on.includes('label') && <TextField form={form} name="label" label="Label" exact />}
      </div>
      <LinesField
        form={form}
        name="repositories"
        label="Repositories"
        hint="As owner/name, one a line. Leave it empty for all that are granted to the installation."
        exact
        rows={2}
      />
      <TickBox
        checked={values.forks}
        means="Otherwise they are refused. The Session begins on the base branch, without the code of the fork."
        onChange={event => fields.setValue('forks', event.target.checked)}
      >
        Pull requests from forks too
      </TickBox>
    </>
  )
}
