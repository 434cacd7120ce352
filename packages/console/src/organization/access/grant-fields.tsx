import { Field, Select } from '../../ui/field.tsx'
import { TickBox } from '../../ui/tick-box.tsx'
import { capabilityGroups, capabilityLabel, presets } from './capability-labels.ts'

/** The capabilities of an installation, as checkboxes. */
export function GrantFields(props: { value: readonly string[]; onChange: (value: readonly string[]) => void }) {
  const { value, onChange } = props
  const lacksAccess = value.some(held => held !== 'svc.ai.invoke') && !value.includes('svc.cloud.access')
  const set = (changed: readonly string[], on: boolean) =>
    onChange([...value.filter(held => !changed.includes(held)), ...(on ? changed : [])])
  const same = (held: readonly string[]) => held.length === value.length && held.every(one => value.includes(one))
  const chosen = presets.find(({ capabilities }) => same(capabilities))?.label ?? ''
  return (
    <div className="flex flex-col gap-4">
      <Field label="Rights" hint="A beginning; each right can be changed below.">
        {attributes => (
          <Select
            {...attributes}
            value={chosen}
            onChange={({ target }) =>
              onChange(presets.find(({ label }) => label === target.value)?.capabilities ?? value)
            }
          >
            <option value="">As ticked below</option>
            {presets.map(({ label }) => (
              <option key={label}>{label}</option>
            ))}
          </Select>
        )}
      </Field>
      {capabilityGroups.map(({ label, capabilities }) => (
        <fieldset key={label} className="min-w-0">
          <legend className="mb-2 flex w-full items-center text-[0.8125rem] font-medium">{label}</legend>
          {capabilities.length > 1 && (
            <p className="-mt-1 mb-2 flex gap-3 text-xs">
              <Quick label={`Everything of ${label}`} onClick={() => set(capabilities, true)}>
                Everything
              </Quick>
              <Quick label={`Nothing of ${label}`} onClick={() => set(capabilities, false)}>
                Nothing
              </Quick>
            </p>
          )}
          <div className="grid gap-x-4 gap-y-2.5 sm:grid-cols-2">
            {capabilities.map(capability => {
              const [name, means] = capabilityLabel(capability)
              return (
                <TickBox
                  key={capability}
                  title={capability}
                  means={means}
                  checked={value.includes(capability)}
                  onChange={event => set([capability], event.target.checked)}
                >
                  {name}
                </TickBox>
              )
            })}
          </div>
        </fieldset>
      ))}
      {lacksAccess && (
        <p role="status" className="text-xs text-warning">
          Without “{capabilityLabel('svc.cloud.access')[0]}” only the AI gateway answers.
        </p>
      )}
    </div>
  )
}

function Quick({ label, onClick, children }: { label: string; onClick: () => void; children: string }) {
  return (
    <button
      type="button"
      aria-label={label}
      onClick={onClick}
      className="min-h-6 text-accent underline-offset-2 hover:underline"
    >
      {children}
    </button>
  )
}
