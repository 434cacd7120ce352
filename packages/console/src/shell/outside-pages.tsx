import { Anchor, DoorClosed } from 'lucide-react'
import { buttonClass } from '../ui/button.tsx'
import { Title } from '../ui/page.tsx'
import { EmptyState } from '../ui/states.tsx'

const signInAgain = (
  <a className={buttonClass('primary')} href="/cloud/auth/sign-in?return_to=%2F">
    Sign in
  </a>
)

/** Where signing out leads. */
export function SignedOutPage() {
  return (
    <main className="grid h-full place-items-center">
      <Title>Signed out</Title>
      <EmptyState icon={Anchor} title="You are signed out" action={signInAgain}>
        Your agents go on working.
      </EmptyState>
    </main>
  )
}

/** For people who can sign in, but belong to no organization (any more). */
export function NoAccessPage() {
  return (
    <main className="grid h-full place-items-center">
      <Title>No access</Title>
      <EmptyState icon={DoorClosed} title="You belong to no organization" action={signInAgain}>
        Ask an administrator for an invitation, open its link, and sign in again.
      </EmptyState>
    </main>
  )
}
