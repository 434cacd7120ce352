import { Check } from 'lucide-react'
import { capabilityLabel } from './capability-labels.ts'

/** The capabilities of an installation, as text. */
export function GrantList({ capabilities }: { capabilities: readonly string[] }) {
  return (
    <ul className="grid gap-x-6 gap-y-1.5 text-[0.8125rem] sm:grid-cols-2">
      {capabilities.map(capability => {
        const [name, means] = capabilityLabel(capability)
        return (
          <li key={capability} className="flex gap-2" title={means === '' ? capability : `${means} (${capability})`}>
            <Check className="mt-0.5 size-3.5 shrink-0 text-good" aria-hidden />
            {name}
          </li>
        )
      })}
    </ul>
  )
}
