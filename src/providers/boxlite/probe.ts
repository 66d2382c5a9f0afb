/** Whether there is the SDK, and a server or a machine that can start a VM, for `sublet doctor`. The server is not asked. */
import type { ProviderContext } from '../../provider/define-provider.ts';
import type { Probe } from '../../provider/provider.ts';
import { probeService, sdkCheck } from '../../provider/service/probe-service.ts';
import { parseBoxliteConfig, SDK } from './boxlite-config.ts';
import { assertVmSupport, type Machine, thisMachine } from './vm-support.ts';

export function probeBoxlite(context: ProviderContext, machine: Machine = thisMachine): Promise<Probe> {
  return probeService([
    {
      name: 'vm',
      find: async () => {
        const { place } = parseBoxliteConfig(context);
        if (place.kind === 'server') return `Boxes are made at ${place.url}.`;
        await assertVmSupport(machine);
        return 'This machine can start VMs.';
      },
    },
    sdkCheck('boxlite', SDK, () => import('@boxlite-ai/boxlite')),
  ]);
}
