import type { Environment } from '@berth/client'
import type { ReactNode } from 'react'
import { counted } from '../ui/format.ts'

/** Credentials that sandboxes use without having them: secrets at the edge, tokens of the Git host and the keys of models. */
export function OutsideCredentials({ environment: { document, secrets } }: { environment: Environment }) {
  const atEdge = secrets.filter(({ exposure }) => exposure === 'egress')
  const hosts = [...new Set(atEdge.flatMap(({ egress }) => egress?.hosts ?? []))]
  return (
    <section aria-labelledby="outside" className="flex flex-col gap-3 border-t border-line pt-6">
      <h2 id="outside" className="text-sm font-semibold">
        What sandboxes use without having it
      </h2>
      <dl className="flex flex-col divide-y divide-line rounded-md border border-line text-[0.8125rem]">
        <Row name="Secrets at the edge">
          {atEdge.length === 0
            ? secrets.length === 0
              ? 'None.'
              : 'None. Programs can read every secret.'
            : `${counted(atEdge.length, 'secret')}, for ${hosts.join(', ')}. The proxy puts each into requests to its hosts.`}
        </Row>
        <Row name="Git tokens">
          {document.github
            ? 'Short-lived ones of the granted repositories, which Git and gh ask for while a Run is at work.'
            : 'None. GitHub access is off in the document.'}
        </Row>
        <Row name="Keys of models">Always. Agents reach models through the gateway, which adds the key.</Row>
      </dl>
    </section>
  )
}

function Row({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="flex flex-col gap-1 px-3 py-2 sm:flex-row sm:gap-4">
      <dt className="w-40 shrink-0 text-ink-2">{name}</dt>
      <dd className="min-w-0 break-words">{children}</dd>
    </div>
  )
}
