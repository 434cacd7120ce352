import { Field, inputClass } from '../ui/field.tsx'
import { TickBox } from '../ui/tick-box.tsx'
import { type BoundsForm, boundsFaults } from './bounds.ts'
import { causeChoices } from './pull-labels.ts'

/** How far Berth goes for a pull request: how often, how long, for how much, and whether it merges. */
export function BoundsFields(props: { bounds: BoundsForm; mayMerge: boolean; onChange: (bounds: BoundsForm) => void }) {
  const { bounds, mayMerge, onChange } = props
  const faults = boundsFaults(bounds)
  const change = (part: Partial<BoundsForm>) => onChange({ ...bounds, ...part })
  return (
    <div className="flex flex-col gap-3">
      <div className="grid gap-3 sm:grid-cols-3">
        <Field label="Attempts" fault={faults.attempts} hint="Turns that it may make.">
          {attributes => (
            <input
              {...attributes}
              inputMode="numeric"
              value={bounds.attempts}
              onChange={event => change({ attempts: event.target.value })}
              className={inputClass}
            />
          )}
        </Field>
        <Field label="Days" fault={faults.days} hint="Then a person is asked.">
          {attributes => (
            <input
              {...attributes}
              inputMode="numeric"
              value={bounds.days}
              onChange={event => change({ days: event.target.value })}
              className={inputClass}
            />
          )}
        </Field>
        <Field label="Budget in US dollars" fault={faults.budget} hint="Empty sets none of its own.">
          {attributes => (
            <input
              {...attributes}
              inputMode="decimal"
              placeholder="none"
              value={bounds.budget}
              onChange={event => change({ budget: event.target.value })}
              className={inputClass}
            />
          )}
        </Field>
      </div>
      <fieldset className="flex flex-col gap-1.5">
        <legend className="mb-1.5 text-[0.8125rem] font-medium">The agent works on</legend>
        <div className="grid gap-x-3 gap-y-2.5 sm:grid-cols-2">
          {causeChoices.map(([cause, label]) => (
            <TickBox
              key={cause}
              checked={bounds.on.includes(cause)}
              onChange={event =>
                change({
                  on: event.target.checked ? [...bounds.on, cause] : bounds.on.filter(other => other !== cause),
                })
              }
            >
              {label}
            </TickBox>
          ))}
        </div>
        {faults.on !== undefined && <p className="text-xs text-bad">{faults.on}</p>}
      </fieldset>
      <TickBox
        checked={bounds.merges && mayMerge}
        disabled={!mayMerge}
        onChange={event => change({ merges: event.target.checked })}
        means={
          mayMerge
            ? 'Exactly the published commit, by the rules of its Git host, and never around a protection.'
            : 'Your membership does not include merging.'
        }
      >
        Merge it when it is ready
      </TickBox>
    </div>
  )
}
