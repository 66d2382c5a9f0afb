import { SubletError, open } from 'sublet';

await using sublet = await open();
const { sandboxId } = await sublet.session({ user: 'ada', task: 'build' });

// From here until it is released nobody else uses the sandbox, in this process or another.
{
  await using lease = await sublet.lease({ sandboxId, holder: 'the nightly build' });
  const built = await lease.commands.run('echo built', { signal: lease.lost });
  console.log(built.stdout.trim()); // → built

  const other = await sublet.session({ user: 'ada', task: 'build' }).catch((error: unknown) => error);
  if (SubletError.is(other, 'LEASE_HELD')) console.log(other.details['holder']); // → the nightly build
}

// A session takes the same right for as long as it is held.
{
  await using session = await sublet.session({ user: 'ada', task: 'build', exclusive: true });
  console.log(session.lease?.token); // → 2
}

await sublet.sandboxes.destroy(sandboxId);
