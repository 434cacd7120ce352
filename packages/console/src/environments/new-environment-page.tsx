import { Link, useNavigate } from '@tanstack/react-router'
import { ChevronLeft } from 'lucide-react'
import { useState } from 'react'
import { to } from '../routing/to.ts'
import { Page, Title } from '../ui/page.tsx'
import { DocumentTab } from './document-tab.tsx'
import { useEnvironmentCan } from './environment-can.ts'
import { LeaveGuard } from './leave-guard.tsx'
import { useDocumentEditor } from './use-document-editor.ts'

/** Writes the first revision of an environment. */
export function NewEnvironmentPage() {
  // A second press after a lost answer names the same environment, so it can never make two.
  const [id] = useState(() => crypto.randomUUID())
  const editor = useDocumentEditor(id, null, 'new')
  const can = useEnvironmentCan(null)
  const navigate = useNavigate()
  return (
    <Page
      title="New environment"
      below={
        <Link {...to.environments()} className="flex min-h-6 items-center text-xs text-ink-2 hover:text-ink">
          <ChevronLeft className="size-3.5" aria-hidden /> Environments
        </Link>
      }
    >
      <Title>New environment</Title>
      <LeaveGuard environmentId="new" dirty={editor.dirty} onDiscard={editor.discard} />
      <DocumentTab
        id={id}
        environment={null}
        editor={editor}
        maySave={can('create')}
        mayUpload={can('upload')}
        onSaved={environment => void navigate(to.environment(environment.id))}
      />
    </Page>
  )
}
