import { useId } from 'react'
import { Field, inputClass, Select } from '../ui/field.tsx'
import type { PartProps } from './row-fields.tsx'
import { Fault, Section } from './section.tsx'

const modes = {
  open: ['Every host that the operator opens', 'Hosts below are not needed.'],
  listed: ['Only the hosts below', 'Everything else is refused, also while setup runs.'],
  ask: [
    'The hosts below, and others if somebody allows them',
    'While setup runs, and if nobody can be asked, others are refused.',
  ],
} as const

/** Which hosts the sandboxes of an environment reach. */
export function NetworkPart({ form, issues, readOnly, names }: PartProps & { readonly names: readonly string[] }) {
  const id = useId()
  const mode = form.watch('network.mode')
  const faults = issues.filter(({ path }) => path[0] === 'network' && path[1] === 'hosts')
  return (
    <Section
      id={`${id}-title`}
      title="Network"
      hint="Within what the operator and the organization allow. The model gateway and the Git host's tokens work in any case; Git's own traffic needs its host."
    >
      <Field label="Hosts that sandboxes reach" hint={modes[mode][1]}>
        {attributes => (
          <Select {...attributes} {...form.register('network.mode')} disabled={readOnly} className="max-w-md">
            {Object.entries(modes).map(([value, [label]]) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </Select>
        )}
      </Field>
      <textarea
        {...form.register('network.hosts')}
        aria-label="Hosts by name"
        aria-describedby={`${id}-faults`}
        aria-invalid={faults.length > 0 || undefined}
        rows={1}
        readOnly={readOnly}
        spellCheck={false}
        placeholder="registry.npmjs.org *.example.com"
        className={`${inputClass} field-sizing-content max-h-40 resize-none font-mono text-[0.8125rem]`}
      />
      <div id={`${id}-faults`} className="empty:hidden">
        {faults.map(({ path, message }) => (
          <Fault key={`${path.join('.')} ${message}`}>
            {path.length > 2 ? `“${names[Number(path[2])] ?? ''}” ${message}` : `The list ${message}`}
          </Fault>
        ))}
      </div>
    </Section>
  )
}
