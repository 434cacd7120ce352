import { useId } from 'react'
import { Choice } from '../settings/choice.tsx'
import { Field, inputClass, Select } from '../ui/field.tsx'
import { TickBox } from '../ui/tick-box.tsx'
import type { EnteredExposure, ExposureFaults } from './secret-exposure.ts'

const places = {
  header: ['A header', 'Header', 'Authorization'],
  basic: ['Basic authentication', 'User', 'x-access-token'],
  query: ['The query', 'Parameter', 'key'],
} as const
const cell = `${inputClass} font-mono text-[0.8125rem]`
const area = `${cell} field-sizing-content max-h-40 resize-none`

/** How sandboxes get a secret: as a variable, or as a placeholder that the proxy replaces. */
export function ExposureFields(props: {
  entered: EnteredExposure
  faults: ExposureFaults
  onChange: (entered: EnteredExposure) => void
}) {
  const { entered, faults, onChange } = props
  const name = useId()
  const set = (change: Partial<EnteredExposure>) => onChange({ ...entered, ...change })
  const [, label, example] = places[entered.place]
  return (
    <div className="flex flex-col gap-4">
      <Choice
        name={name}
        label="How sandboxes get it"
        options={[
          ['variable', 'Variable'],
          ['egress', 'At the edge'],
        ]}
        value={entered.exposure}
        onChange={exposure => set({ exposure })}
        hint={
          entered.exposure === 'variable'
            ? 'Every program in the sandbox can read the value.'
            : 'Programs hold a placeholder. The proxy puts the value into requests to these hosts, and no program has it.'
        }
      />
      {entered.exposure === 'egress' && (
        <>
          <Field label="Hosts" fault={faults.hosts} hint="Names such as api.example.com or *.example.com, over HTTPS.">
            {attributes => (
              <textarea
                {...attributes}
                value={entered.hosts}
                rows={1}
                spellCheck={false}
                placeholder="api.example.com"
                onChange={({ target }) => set({ hosts: target.value })}
                className={area}
              />
            )}
          </Field>
          <div className="grid gap-4 sm:grid-cols-3">
            <Field label="Where requests hold it">
              {attributes => (
                <Select
                  {...attributes}
                  value={entered.place}
                  onChange={({ target }) => {
                    const place = target.value as EnteredExposure['place']
                    set({ place, placeName: place === 'header' ? 'Authorization' : '', format: '' })
                  }}
                >
                  {Object.entries(places).map(([value, [label]]) => (
                    <option key={value} value={value}>
                      {label}
                    </option>
                  ))}
                </Select>
              )}
            </Field>
            <Field label={label} fault={faults.placeName}>
              {attributes => (
                <input
                  {...attributes}
                  value={entered.placeName}
                  autoComplete="off"
                  spellCheck={false}
                  placeholder={example}
                  onChange={({ target }) => set({ placeName: target.value })}
                  className={cell}
                />
              )}
            </Field>
            {entered.place === 'header' && (
              <Field label="Its content" fault={faults.format} hint="With {value} once.">
                {attributes => (
                  <input
                    {...attributes}
                    value={entered.format}
                    autoComplete="off"
                    spellCheck={false}
                    placeholder={/^authorization$/i.test(entered.placeName.trim()) ? 'Bearer {value}' : '{value}'}
                    onChange={({ target }) => set({ format: target.value })}
                    className={cell}
                  />
                )}
              </Field>
            )}
          </div>
          <div className="grid gap-4 sm:grid-cols-2">
            <Field label="Only these methods" hint="Such as GET POST; empty for all.">
              {attributes => (
                <input
                  {...attributes}
                  value={entered.methods}
                  autoComplete="off"
                  spellCheck={false}
                  onChange={({ target }) => set({ methods: target.value })}
                  className={cell}
                />
              )}
            </Field>
            <Field label="Only below these paths" fault={faults.paths} hint="Such as /v1; empty for all.">
              {attributes => (
                <textarea
                  {...attributes}
                  value={entered.paths}
                  rows={1}
                  spellCheck={false}
                  onChange={({ target }) => set({ paths: target.value })}
                  className={area}
                />
              )}
            </Field>
          </div>
          <TickBox
            checked={entered.setup}
            onChange={({ target }) => set({ setup: target.checked })}
            means="Otherwise they have neither the value nor the placeholder."
          >
            Setup scripts use it as well
          </TickBox>
        </>
      )}
    </div>
  )
}
